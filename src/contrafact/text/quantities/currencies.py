"""The ISO codes of the currencies that financial prose writes as signs and words."""

import re

__all__ = ["currency_code"]

_SIGNS = {
    "$": "USD",
    "us$": "USD",
    "a$": "AUD",
    "au$": "AUD",
    "c$": "CAD",
    "ca$": "CAD",
    "hk$": "HKD",
    "s$": "SGD",
    "n$": "NAD",
    "nz$": "NZD",
    "nt$": "TWD",
    "r$": "BRL",
    "z$": "ZWL",
    "t$": "TOP",
    "mx$": "MXN",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "₩": "KRW",
    "₽": "RUB",
    "₦": "NGN",
    "฿": "THB",
    "₺": "TRY",
    "₱": "PHP",
    "₫": "VND",
    "₴": "UAH",
    "₿": "BTC",
    "rs": "INR",
    "rp": "IDR",
    "rm": "MYR",
    "kr": "SEK",
    "n": "NGN",
    "p": "PHP",
    "b": "THB",
    "k": "ZMW",
    "rmb": "CNY",
}
_WORDS = {
    "dollar": "USD",
    "euro": "EUR",
    "pound": "GBP",
    "yen": "JPY",
    "yuan": "CNY",
    "renminbi": "CNY",
    "rupee": "INR",
    "rupiah": "IDR",
    "franc": "CHF",
    "won": "KRW",
    "peso": "MXN",
    "rouble": "RUB",
    "ruble": "RUB",
    "rand": "ZAR",
    "reais": "BRL",
    "real": "BRL",
    "lira": "TRY",
    "zloty": "PLN",
    "naira": "NGN",
    "cedi": "GHS",
    "baht": "THB",
    "ringgit": "MYR",
    "dong": "VND",
    "taka": "BDT",
    "hryvnia": "UAH",
    "cent": "USD",
    "pence": "GBP",
    "paise": "INR",
    "paisa": "INR",
    "shekel": "ILS",
    "bitcoin": "BTC",
    "dirham": "AED",
    "riyal": "SAR",
}
_OF_COUNTRY = {
    ("canadian", "dollar"): "CAD",
    ("australian", "dollar"): "AUD",
    ("hong kong", "dollar"): "HKD",
    ("singapore", "dollar"): "SGD",
}


def currency_code(text: str) -> str | None:
    """Return the ISO code of a currency as written ("€", "Rs.", "Canadian dollars", "HKD").

    A bare dollar is the US dollar and a bare peso the Mexican one. None where the word alone
    does not say which ("crowns", "dinars").
    """
    name = re.sub(r"[\s-]+", " ", text.strip(" -.\t\n").casefold())
    name = name.removeprefix("of ")
    if name in _SIGNS:
        return _SIGNS[name]
    if re.fullmatch("[a-z]{3}", name) and name not in _WORDS:
        return name.upper()
    country, _, word = name.removesuffix(" sterling").rpartition(" ")
    word = word if word in _WORDS else word.removesuffix("s")
    return _OF_COUNTRY.get((country, word)) or _WORDS.get(word)
