// Sends each next event when the last one has been confirmed, and breaks the connection off after every tenth.
import { createServer } from 'node:http'
import { createSession } from 'better-sse'

let confirm = () => {}
createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://service')
  if (pathname === '/confirm') {
    response.end()
    confirm()
    return
  }
  const session = await createSession(request, response, { retry: 10 })
  for (let id = Number(session.lastId || 0) + 1; id <= 100; id++) {
    const confirmed = new Promise((resolve) => {
      confirm = resolve
    })
    session.push({ text: `event ${id}\nof 100 ☕` }, 'news', String(id))
    await confirmed
    if (id % 10 === 0) {
      response.socket.resetAndDestroy()
      return
    }
  }
}).listen(Number(process.argv[2]), '127.0.0.1')
