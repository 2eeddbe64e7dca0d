import ngrok from '@ngrok/ngrok'

/** The official SDK as agent: forwards one HTTP name and one TCP address until it is stopped. */
const [serverAddr, rootCas, authtoken, url, httpPort, tcpPort] = process.argv.slice(2) as string[]

const builder = new ngrok.SessionBuilder()
builder.authtoken(authtoken!).serverAddr(serverAddr!).rootCas(rootCas!)
const session = await builder.connect()
const web = await session
  .httpEndpoint()
  .scheme('http')
  .domain(url!)
  .listenAndForward(`http://127.0.0.1:${httpPort}`)
const tcp = await session.tcpEndpoint().listenAndForward(`tcp://127.0.0.1:${tcpPort}`)
console.log(`ready ${web.url()} ${tcp.url()}`)
// The SDK's own threads do not keep the process alive.
setInterval(() => {}, 2 ** 30)
