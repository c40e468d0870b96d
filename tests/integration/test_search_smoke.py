def test_finds(memory):
    memory.remember("The harbour contract is signed on Friday", key="a")
    assert memory.search("when is the contract signed").hits[0].key == "a"
