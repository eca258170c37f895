"""Contact as complementarity between gap, force and sliding; no gait is prescribed."""

from codesign.contact.formulations import (
    FORMULATIONS,
    MEASURE,
    PairRows,
    contact_pairs,
    formulation_named,
)
from codesign.contact.pyramid import ContactForces, ContactTerms, contact_terms, powers, world_force

__all__ = [
    "FORMULATIONS",
    "MEASURE",
    "ContactForces",
    "ContactTerms",
    "PairRows",
    "contact_pairs",
    "contact_terms",
    "formulation_named",
    "powers",
    "world_force",
]
