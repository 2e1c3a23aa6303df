"""``python -m contrafact``: the command ``contrafact``, if its script is not on the path."""

from contrafact.cli.main import main

if __name__ == "__main__":
    main()
