"""Reports on a test run: one summary, written as text, JSON, Markdown, JUnit XML or a page of HTML."""
