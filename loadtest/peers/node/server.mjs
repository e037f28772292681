// A small ingest service as many teams write it: node:http, JSON.parse, rows in memory, the official ClickHouse client.
// It acknowledges a body once its rows are in memory, and inserts them in the background.
import { createServer } from 'node:http'
import { createClient } from '@clickhouse/client'

const ROWS_PER_INSERT = 50_000
const LINGER_MS = 250
const ROWS_MAX = 1_000_000

const clickhouse = createClient({
  url: process.env.PEER_CLICKHOUSE_URL,
  username: process.env.PEER_CLICKHOUSE_USER,
  password: process.env.PEER_CLICKHOUSE_PASSWORD,
  database: process.env.PEER_CLICKHOUSE_DATABASE,
  clickhouse_settings: { date_time_input_format: 'best_effort' },
})

let rows = []
let inserting = false

function row(event) {
  return {
    event_id: event.clientEventId,
    event_name: event.eventName,
    user_id: event.userId ?? '',
    anonymous_id: event.anonymousId ?? '',
    session_id: event.sessionId ?? '',
    device_id: event.deviceId ?? '',
    timestamp: event.timestamp ?? new Date().toISOString(),
    properties: JSON.stringify(event.properties ?? {}),
  }
}

async function flush() {
  if (inserting || rows.length === 0) return
  inserting = true
  const values = rows.splice(0, ROWS_PER_INSERT)
  try {
    await clickhouse.insert({ table: process.env.PEER_TABLE, values, format: 'JSONEachRow' })
  } catch (error) {
    console.error(String(error))
    rows = values.concat(rows)
  } finally {
    inserting = false
  }
  if (rows.length >= ROWS_PER_INSERT) setImmediate(flush)
}

setInterval(flush, LINGER_MS)

createServer((request, response) => {
  const parts = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    if (rows.length > ROWS_MAX) {
      response.writeHead(503, { 'Retry-After': '1' }).end()
      return
    }
    let events
    try {
      events = JSON.parse(Buffer.concat(parts))
    } catch {
      response.writeHead(400).end()
      return
    }
    for (const event of Array.isArray(events) ? events : [events]) rows.push(row(event))
    if (rows.length >= ROWS_PER_INSERT) flush()
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"success":true}')
  })
}).listen(Number(process.env.PEER_PORT), '127.0.0.1')
