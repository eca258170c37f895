"""Contact as complementarity between gap, force and sliding; no gait is prescribed."""

from codesign.contact.pyramid import ContactForces, ContactTerms, contact_terms, world_force

__all__ = ["ContactForces", "ContactTerms", "contact_terms", "world_force"]
