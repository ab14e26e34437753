print("identityctl")
