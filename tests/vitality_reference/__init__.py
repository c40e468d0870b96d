"""The rules of the access log and of spreading in Python; SQL must agree with them."""
