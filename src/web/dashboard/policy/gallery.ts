import type { PolicyAttachment } from '../../../dashboard/page-data.ts'

/** A common policy to begin with. */
export interface GalleryPolicy {
  readonly title: string
  /** What it can be used for as it is. */
  readonly kinds: readonly PolicyAttachment['kind'][]
  readonly text: string
}

/** Begins the policies of cloud endpoints, which have to end every request. */
const forwardTo = (name: string) => `
  - name: everything else
    actions:
      - type: forward-internal
        config:
          url: https://${name}.internal`

/** Common policies. Addresses and names in them are to be replaced. */
export const gallery: readonly GalleryPolicy[] = [
  {
    title: 'Forward by path',
    kinds: ['cloud'],
    text: `on_http_request:
  - name: orders
    expressions: ["req.url.path.startsWith('/orders')"]
    actions:
      - type: forward-internal
        config:
          url: https://orders.internal${forwardTo('shop')}
`,
  },
  {
    title: 'Maintenance page',
    kinds: ['cloud', 'route'],
    text: `on_http_request:
  - name: maintenance
    actions:
      - type: custom-response
        config:
          status_code: 503
          headers:
            content-type: text/html
            retry-after: "600"
          body: <h1>Back in ten minutes</h1>
`,
  },
  {
    title: 'Sign-in for one company',
    kinds: ['route'],
    text: `on_http_request:
  - name: sign in
    actions:
      - type: openid-connect
        config:
          issuer_url: https://login.example.com
          client_id: shop
          client_secret: \${secrets.get('sign-in', 'provider')}
  - name: colleagues only
    expressions: ["!actions.ngrok.oidc.identity.email.endsWith('@example.com')"]
    actions:
      - type: deny
`,
  },
  {
    title: 'Rate limit by visitor',
    kinds: ['route'],
    text: `on_http_request:
  - name: limit
    actions:
      - type: rate-limit
        config:
          name: per visitor
          algorithm: sliding_window
          capacity: 100
          rate: 60s
          bucket_key: [conn.client_ip]
`,
  },
  {
    title: 'Security headers',
    kinds: ['route'],
    text: `on_http_response:
  - name: security headers
    actions:
      - type: add-headers
        config:
          headers:
            strict-transport-security: max-age=31536000
            x-content-type-options: nosniff
      - type: remove-headers
        config:
          headers: [server, x-powered-by]
`,
  },
  {
    title: 'No bots',
    kinds: ['route'],
    text: `on_http_request:
  - name: no bots
    expressions: ["req.user_agent.is_bot"]
    actions:
      - type: deny
`,
  },
  {
    title: 'Selected addresses only',
    kinds: ['edge'],
    text: `on_tcp_connect:
  - name: office only
    actions:
      - type: restrict-ips
        config:
          allow: [198.51.100.0/24]
`,
  },
]
