import { AbuseReport } from '../../../resources/index.ts'
import { crud } from '../../crud/crud.ts'

/** Reports name URLs; their hosts are listed once each. */
export const abuseReports = crud(AbuseReport, {
  async view(_row, { urls }) {
    const hostnames = new Set(urls.map((url) => new URL(url).hostname))
    return { hostnames: [...hostnames].map((hostname) => ({ hostname, status: 'PENDING' })) }
  },
})
