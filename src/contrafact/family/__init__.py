"""What a family is made of: the seam between families and the engines that serve them all."""
