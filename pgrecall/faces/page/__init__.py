"""The page of the service: search, all memories at a glance, single memories, links, pruning, maintenance.

The server renders every view, and every view works without JavaScript. Nothing loads from other sites.

app               routes, security headers and error pages
sessions          cookie sessions and CSRF tokens
sign_in           the views for signing in and out
request_handling  what every view goes through
form_fields       fields of queries and forms, parsed
templating        the Jinja environment and its filters
search, score_steps     the search view, and the steps of each score
overview, charts        all memories at a glance
memory, memory_chart    one memory
links             the links around a memory
prune             prune plans
maintenance       jobs and checks
"""
