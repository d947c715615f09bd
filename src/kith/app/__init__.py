"""Where everything meets: the only package that knows every concrete class."""
