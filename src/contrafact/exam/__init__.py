"""What a judge is worth: items whose verdict is known, put to a judge as a run puts its own."""
