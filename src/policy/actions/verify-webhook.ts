import { BOOL } from '../../cel/index.ts'
import { WEBHOOK_PROVIDERS } from '../../resources/endpoint-options.ts'
import { choice, described, flag, object, strictTemplate, withDefault } from '../config.ts'
import { literalTemplate } from '../template.ts'
import { defineAction } from './define.ts'
import { errorResult } from './results.ts'

/** Other spellings of providers in documents of the original. */
const SPELLINGS: Readonly<Record<string, string>> = {
  signalsciences: 'signal_sciences',
  sonatype_nexus: 'sonatype',
  vmware_workspace: 'vmware',
}

const known = choice(...WEBHOOK_PROVIDERS)
const provider: typeof known = {
  ...known,
  read: (value, context) => known.read(SPELLINGS[String(value)] ?? value, context),
}

export const verifyWebhook = defineAction({
  type: 'verify-webhook',
  aliases: ['webhook-validation'],
  description:
    'Admits only webhooks that their provider has signed, and answers the challenges of providers.',
  example: { provider: 'github', secret: "${secrets.get('webhooks', 'github')}" },
  phases: ['on_http_request'],
  ends: 'sometimes',
  rejects: ({ enforce }) => enforce,
  config: object({
    provider: described(provider, 'the service that sends the webhooks'),
    secret: described(
      withDefault(strictTemplate({ maxLength: 4096 }), literalTemplate(''), ''),
      'what it signs them with',
    ),
    enforce: described(withDefault(flag, true), 'false: only sets the results'),
  }),
  results: { verified: BOOL, error: errorResult },
})
