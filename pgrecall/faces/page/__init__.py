"""The page of the service: search, all memories at a glance, single memories, links, pruning, maintenance.

The server renders every view, and every view works without JavaScript. Nothing loads from other sites.

app               routes, security headers and error pages
sessions          cookie sessions and CSRF tokens
sign_in           the views for signing in and out
request_handling  the steps common to all views
form_fields       parsing of query and form fields
templating        the Jinja environment and its filters
search, score_steps  the search view, and the steps of each score
front             the front page, and the list of all memories
filters           the filters of searches and lists
overview          all memories of a tenant, its jobs and checks
memory            one memory and the links around it
markdown          texts of memories as HTML
edit, actions     adding and changing memories, and what takes it back
imports           files that are dropped on the page
zones             what each zone means
prune             prune plans
"""
