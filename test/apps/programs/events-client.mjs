// Receives events until the last one and confirms each; prints what was received.
import { EventSource } from 'eventsource'

const url = process.argv[2]
const seen = { ids: [], texts: [], connections: 0 }
// The timer of a reconnection keeps no process alive.
const alive = setInterval(() => {}, 60_000)
const source = new EventSource(`${url}/events`)
source.onopen = () => seen.connections++
source.addEventListener('news', async (event) => {
  seen.ids.push(event.lastEventId)
  seen.texts.push(event.data)
  if (event.lastEventId === '100') {
    source.close()
    clearInterval(alive)
    console.log(JSON.stringify(seen))
  } else await (await fetch(`${url}/confirm`, { method: 'POST' })).text()
})
