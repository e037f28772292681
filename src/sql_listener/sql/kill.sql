KILL QUERY WHERE startsWith(Settings['log_comment'], {mark:String}) ASYNC
