import { Type } from 'typebox'
import { defineModule } from '../schema/module.ts'
import {
  defineEndpointOption,
  describeUnknownProvider,
  optionalText,
  requireProvider,
} from '../schema/option.ts'
import { described, InvalidValue, required, secret, text, withExamples } from '../schema/value.ts'

/** The services whose webhook signatures can be verified. */
export const WEBHOOK_PROVIDERS = new Set(
  `aftership airship alchemy autodesk bitbucket bolt box brex buildkite calendly castle chargify circleci clearbit clerk
  coinbase contentful docusign dropbox facebook_graph_api facebook_messenger frameio github gitlab go1 graphcms heroku
  hostedhooks hubspot instagram intercom jira launch_darkly linear mailchimp mailgun microsoft_teams modern_treasury mongodb mux orb
  orbit pagerduty pinwheel plivo pusher sendgrid sentry shopify signal_sciences slack sns sonatype square stripe svix
  terraform tiktok trendmicro_conformity twilio twitter typeform vmware webex whatsapp worldline xero zendesk zoom`.split(
    /\s+/,
  ),
)

/** Whether webhooks of the provider are signed with a public certificate, not with a shared secret. */
const isKeyless = (provider: string) => provider.toLowerCase() === 'sns'

/** Admits only webhooks with a valid signature of the provider. */
export const WebhookVerification = defineModule(
  'webhook_verification',
  'Accepts only webhooks with a valid signature.',
  {
    provider: described(
      required(
        withExamples(
          text(64, (value) =>
            WEBHOOK_PROVIDERS.has(value.toLowerCase())
              ? undefined
              : describeUnknownProvider('webhooks', [...WEBHOOK_PROVIDERS], value),
          ),
          WEBHOOK_PROVIDERS,
        ),
      ),
      'The service that signs the webhooks, such as github or stripe.',
      'github',
    ),
    secret: described(
      secret(text(4096), 'shown'),
      'The secret with which the service signs.',
      'the secret of the webhook',
    ),
  },
  {
    endpoint: defineEndpointOption({
      name: 'webhookVerification',
      field: 'WebhookVerification',
      key: 'verify_webhook',
      wire: Type.Object({ provider: Type.String(), secret: optionalText }),
      flags: [
        {
          name: 'verify-webhook',
          field: 'provider',
          help: 'accept only webhooks signed by this provider',
        },
        { name: 'verify-webhook-secret', field: 'secret', help: 'secret the webhooks are signed with' },
      ],
      check({ provider, secret }) {
        if (!provider) return '"verify_webhook" needs a "provider"'
        return secret || isKeyless(provider)
          ? undefined
          : `"verify_webhook" needs the secret with which ${provider} signs: "verify_webhook.secret"`
      },
      decode({ provider, secret = '' }) {
        const name = requireProvider('webhooks', [...WEBHOOK_PROVIDERS], provider)
        if (secret === '' && !isKeyless(name))
          throw new InvalidValue(undefined, `The secret with which ${name} signs its webhooks is missing.`)
        return { provider: name, secret }
      },
      settings: (option) => option,
    }),
    rule({ provider, secret: secretValue }) {
      const keyless = isKeyless(provider)
      if (keyless && secretValue !== '')
        return { field: 'secret', message: 'sns signs with a public certificate; leave it empty.' }
      if (!keyless && secretValue === '')
        return { field: 'secret', message: `it is required to check webhooks of ${provider}.` }
      return undefined
    },
  },
)
