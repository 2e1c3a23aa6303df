"""Human quality assurance: the workflow (pure), the store (database), the pages (web)."""
