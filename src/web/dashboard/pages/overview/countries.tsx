import { lazy, Suspense } from 'react'
import type { VisitorCountries } from '../../../../dashboard/page-data.ts'
import { Card, type Column, type LoadState, Table, useApi } from '../../kit/index.ts'
import { countryName } from './country-name.ts'

// It has the borders of all countries, which are needed once addresses are known.
const WorldMap = lazy(() => import('./world-map.tsx'))

const MAX_ROWS = 10

interface Row {
  readonly name: string
  readonly connections: number
  readonly share: number
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Country', render: ({ name }) => name },
  { title: 'Connections', kind: 'number', render: ({ connections }) => connections.toLocaleString('en') },
  {
    title: 'Share',
    render: ({ share }) => (
      <span className="country-share">
        <span className="country-bar" style={{ width: `${share * 100}%` }} />
        {formatShare(share)}
      </span>
    ),
  },
]

export const useVisitorCountries = (): LoadState<VisitorCountries> =>
  useApi('/dashboard/api/countries', { everyMs: 10_000 })

/** Where visitors are, once facts about addresses are imported. */
export function Countries({ countries }: VisitorCountries) {
  if (countries.every(({ country }) => country === null)) return null
  return (
    <Card title="Visitors by country">
      <Suspense fallback={<div className="world-map" />}>
        <WorldMap countries={countries} />
      </Suspense>
      <Table
        label="Visitors by country"
        columns={COLUMNS}
        rows={rowsOf(countries)}
        keyOf={({ name }) => name}
      />
      <p className="quiet">
        Connections since the server started; behind a trusted proxy, requests. Each node counts its own.
      </p>
    </Card>
  )
}

/** The countries with the most connections; the others are one row. */
function rowsOf(countries: VisitorCountries['countries']): Row[] {
  const total = sum(countries)
  const row = (name: string, connections: number) => ({ name, connections, share: connections / total })
  const others = countries.slice(MAX_ROWS)
  return [
    ...countries.slice(0, MAX_ROWS).map(({ country, connections }) => row(countryName(country), connections)),
    ...(others.length > 0 ? [row('Other countries', sum(others))] : []),
  ]
}

const sum = (countries: VisitorCountries['countries']) =>
  countries.reduce((total, { connections }) => total + connections, 0)

const formatShare = (share: number) => (share < 0.01 ? '< 1 %' : `${Math.round(share * 100)} %`)
