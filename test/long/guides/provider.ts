import { createServer } from 'node:http'
import Provider from 'oidc-provider'

/** The OpenID provider of the guides, at the address that they name. */
const provider = new Provider('http://login.tunnels.example.com:9000', {
  clients: ['wiki', 'shop'].map((client_id) => ({
    client_id,
    client_secret: 'the secret of the application',
    redirect_uris: ['https://idp.tunnels.example.com/oauth2/callback'],
  })),
})
createServer(provider.callback()).listen(9000, () => console.log('listening'))
