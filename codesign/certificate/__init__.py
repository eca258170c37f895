"""What can be said for an answer: stationarity, and the price of what holds it back."""

from codesign.certificate.certificate import Certificate, Certification, certify
from codesign.certificate.lagrangian import Multipliers
from codesign.certificate.prices import Price
from codesign.certificate.stationarity import Kkt, PairSigns

__all__ = [
    "Certificate",
    "Certification",
    "Kkt",
    "Multipliers",
    "PairSigns",
    "Price",
    "certify",
]
