"""HTML in a memory's Markdown: simple tags count, comments are left out, and everything else stays text."""

from __future__ import annotations

import pytest

from pgrecall.faces.page.markdown import render_markdown

LINK = '<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer nofollow">'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <b>bold</b><br>line", "<p>a <b>bold</b><br>line</p>"),
        ("before <!-- hidden --> after", "<p>before  after</p>"),
        ("<!-- a\n\nb -->\n\ntext", "<p>text</p>"),
        ("<div align=center>\n<kbd>Ctrl</kbd> &amp; R &lt;3\n</div>", "<kbd>Ctrl</kbd> &amp; R &lt;3"),
        ("a List<String> of <your name>", "<p>a List&lt;String&gt; of &lt;your name&gt;</p>"),
        ("`<b>` and <script>x</script>", "<p><code>&lt;b&gt;</code> and &lt;script&gt;x&lt;/script&gt;</p>"),
        ('<img src="q.png" alt="The quay"> <img src=x>', "<p>The quay image</p>"),
        ("<a href='https://example.org/?a=1&b=2' class=x>y</a>", f"<p>{LINK}y</a></p>"),
        ("1 < 2, <3 and 3 > 2", "<p>1 &lt; 2, &lt;3 and 3 &gt; 2</p>"),
    ],
)
def test_html_in_markdown(text: str, expected: str) -> None:
    assert str(render_markdown(text)).strip() == expected


def test_what_is_folded_away_keeps_its_markdown() -> None:
    html = str(render_markdown("<details><summary>More</summary>\n\n*there*\n\n</details>"))
    assert html.split() == ["<details><summary>More</summary>", "<p><em>there</em></p>", "</details>"]
