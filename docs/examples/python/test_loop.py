from loop import loop


def test_calls_a_tool(cassette):
    loop('Call echo with "heron".')
