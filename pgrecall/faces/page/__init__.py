"""The page of the service: search, all memories at a glance, single memories, links, pruning, maintenance.

The server renders every view, and every view works without JavaScript. Nothing loads from other sites.

app               routes, security headers and error pages
views             the views, and the forms that they send
sessions          cookie sessions and CSRF tokens
request_handling  the steps common to all views
form_fields       parsing of query and form fields, and of filters
templating        the Jinja environment and its filters
score_steps       the steps of the score of a hit
markdown          texts of memories as HTML
"""
