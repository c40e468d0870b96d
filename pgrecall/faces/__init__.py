"""The interfaces of pgrecall: thin layers on the client, each for one kind of caller.

cli            the command `pgrecall`: `commands` has a module for each noun, `rendering` the output
http           the JSON API
mcp            the tools for agents, by the Model Context Protocol
page           the web page
charts         pictures, for the page, the command line and reports
editors        connecting editors and coding agents
telemetry      metrics and traces
doctor         checks of an installation
json_bodies    what JSON from callers may hold
printable      text made safe to print
wording, snippets  words and excerpts that several faces show
plan_words     sentences about plans
"""
