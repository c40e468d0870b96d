"""The page of the service: search, all memories at a glance, single memories, links, pruning, maintenance.

The server renders every view, and every view works without JavaScript. Nothing loads from other sites.

app               routes, security headers and error pages
sessions          cookie sessions and CSRF tokens
sign_in           the views for signing in and out
request_handling  the steps common to all views
form_fields       parsing of query and form fields
templating        the Jinja environment and its filters
search, score_steps  the search view, and the steps of each score
overview          all memories of a tenant, its jobs and checks
memory            one memory and the links around it
prune             prune plans
"""
