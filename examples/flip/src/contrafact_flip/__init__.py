"""Label-flipping counterfactuals of short reviews: a family of contrafact outside the package."""
