"""The explorer: a model as one HTML page that answers, with exact inference in JavaScript; and models in notebooks."""

from xspn.web.page import notebook_html, page, write_page

__all__ = ["notebook_html", "page", "write_page"]
