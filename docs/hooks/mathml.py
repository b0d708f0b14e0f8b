"""Formulas become MathML when the site is built: browsers draw it themselves, without scripts from elsewhere."""

import html
import re

from latex2mathml.converter import convert

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def on_page_content(text, **_):
    """Turn the formulas of a page from LaTeX to MathML."""
    text = BLOCK.sub(lambda found: convert(html.unescape(found.group(1)), display="block"), text)
    return INLINE.sub(lambda found: convert(html.unescape(found.group(1))), text)
