"""How a producer proves who it is and checks who answers."""
