"""How clients reach each broker through the gateway: by ports, by names, or all at one address."""
