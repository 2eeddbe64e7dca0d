import { isWithin } from '../../../base/values/domain.ts'
import { isPlatformName } from '../../../naming/index.ts'
import { AgentIngress } from '../../../resources/index.ts'
import { crud } from '../../crud/crud.ts'
import { fieldProblem } from '../../problems.ts'
import { pendingCertificate, rejectOverlap, rejectPublicSuffix } from './reserved-names.ts'

export const agentIngresses = crud(AgentIngress, {
  async prepare(record, context) {
    const { existing, config } = context
    const next = { ...record }
    if (existing === undefined) {
      if (
        isWithin(record.domain, config.domain) ||
        isPlatformName(record.domain, config.domain) ||
        record.domain.startsWith('*.') ||
        !record.domain.includes('.')
      )
        throw fieldProblem(
          'domain',
          'invalid_field',
          `domain: "${record.domain}" cannot be an agent ingress; use a domain of your own, such as tunnel.example.com.`,
        )
      rejectPublicSuffix(record.domain, config.domain)
      next.ns_targets = [1, 2, 3, 4].map((number) => `ns${number}.${config.domain}.`)
      next.region_domains = [`tunnel.${config.region}.${record.domain}`]
    }
    if (next.certificate_management_policy === null) next.certificate_management_status = null
    else next.certificate_management_status ??= pendingCertificate(context)
    return { record: next }
  },

  async commit(record, context) {
    if (context.existing === undefined) await rejectOverlap(record.domain, context)
    return record
  },
})
