// How the builder reads TypeScript: types are taken off here and checked by `npm run check`.

module.exports = {
  module: {
    rules: [
      {
        test: /\.ts$/,
        loader: 'builtin:swc-loader',
        options: { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' } },
        type: 'javascript/auto'
      }
    ]
  },
  resolve: { extensions: ['.ts', '.js'] }
};
