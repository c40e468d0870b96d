"""The page of the service: what is remembered, how alive it is and why, to be looked at in a browser.

The server renders every view, and every view works without its script. Nothing comes from elsewhere.

door        who may look: sessions opened with a key, and what a form must prove
visits      what every view goes through, and how its answer is drawn
fields      what addresses and forms hold, as values
search      questions, and why each answer stands where it does
overview   all memories at a glance
memory      one memory: its life
links       what lies around it
prune       plans made, reviewed, applied and undone
upkeep      jobs and health
"""
