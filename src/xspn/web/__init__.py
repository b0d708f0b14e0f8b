"""The explorer: a model as one HTML page that answers, with exact inference in JavaScript."""

from xspn.web.page import page, write_page

__all__ = ["page", "write_page"]
