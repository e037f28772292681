SELECT count() FROM system.processes WHERE startsWith(Settings['log_comment'], {mark:String})
