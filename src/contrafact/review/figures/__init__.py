"""What a manager wants to know of a review: figures as pure functions of its state and history."""
