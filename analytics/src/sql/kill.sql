-- Stops the statement with this id, where the server does not when its connection is closed.
KILL QUERY WHERE query_id = {id:String} ASYNC
