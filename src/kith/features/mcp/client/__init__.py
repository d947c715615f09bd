"""Tools that other programs offer, by the Model Context Protocol: kith as their client."""
