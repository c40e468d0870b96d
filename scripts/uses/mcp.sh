# The server of an editor: a greeting, and the tools.
pgrecall init
{
    echo '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "extras", "version": "1"}}}'
    echo '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    echo '{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}'
    sleep 20
} | timeout 120 pgrecall mcp | grep --max-count 1 '"name":"remember"'
