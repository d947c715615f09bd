/* Runs before anything is drawn, so that nobody who chose dark is shown a white page first. */
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* a browser that keeps nothing follows its own setting */ }
document.documentElement.classList.add("lively");
