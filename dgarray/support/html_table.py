"""Objects as small tables of HTML for notebooks, without colours of their own: readable on light and on dark pages."""
from html import escape

LEFT = "text-align: left; vertical-align: top; background: none; padding: 0.1em 0.8em 0.1em 0"


def table(title, rows, details=()):
    """A title and rows (name, text) as HTML; an object with a table of its own becomes a table inside.

    details: [(summary, text)], shown on demand as they are"""
    parts = [f"<strong>{escape(title)}</strong>", '<table style="border: none; margin: 0.2em 0">']
    for name, value in rows:
        cell = value._repr_html_() if hasattr(value, "_repr_html_") else escape(str(value))
        parts.append(f'<tr style="background: none"><td style="{LEFT}; opacity: 0.7">{escape(str(name))}</td>'
                     f'<td style="{LEFT}">{cell}</td></tr>')
    parts.append("</table>")
    parts += [f'<details><summary>{escape(summary)}</summary><pre style="background: none; color: inherit">{escape(text)}</pre>'
              "</details>" for summary, text in details]
    return f'<div>{"".join(parts)}</div>'
