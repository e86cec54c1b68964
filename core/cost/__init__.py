"""Seconds of a step, from what is computed and moved in it: a roofline with fitted efficiencies.

    gpus.py      GPUs as data, each figure with its source
    models.py    model shapes as data, and what follows from them
    codecs.py    compression of KV blocks as data: ratio and speed
    machine.py   Machine: what a model runs on, validated; the rates that follow
    work.py      StepWork: what one step computes and moves
    seconds.py   step_seconds: how long that takes, part by part
"""
