"""The views of the page, and the forms that they send.

front           the front page, and the list of all memories
search          a search
overview        all memories of a tenant, its jobs and checks, and what zones mean
memory          one memory and the links around it
versions        earlier versions of a memory
edit, actions   adding and changing memories, and undoing changes
imports         files that are dropped on the page
past_imports    what imports have done, and undoing one
quality         how well searches are answered
plans           plans; prune_plan and dedupe_plan show one
sign_in         signing in and out
"""
