// How the builder reads TypeScript: types are taken off here and checked by `npm run check`. The front end's sources, which
// are in another folder, take Preact from this one's packages.

const path = require('path');

module.exports = {
  module: {
    rules: [
      {
        test: /\.tsx?$/,
        loader: 'builtin:swc-loader',
        options: {
          jsc: { parser: { syntax: 'typescript', tsx: true }, transform: { react: { runtime: 'automatic', importSource: 'preact' } }, target: 'es2022' }
        },
        type: 'javascript/auto'
      }
    ]
  },
  resolve: { extensions: ['.tsx', '.ts', '.js'], modules: [path.join(__dirname, 'node_modules'), 'node_modules'] }
};
