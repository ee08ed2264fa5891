"""Lists of names on the command line."""


def split_names(text: str) -> list[str]:
    """Return the names in a text that has commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def split_different_names(text: str) -> list[str]:
    """Return them, each once."""
    return list(dict.fromkeys(split_names(text)))
