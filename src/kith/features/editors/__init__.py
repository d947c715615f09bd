"""The Agent Client Protocol: editors such as Zed, JetBrains' IDEs, Neovim and Emacs drive kith over stdio."""
